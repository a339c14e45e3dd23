/** Light, dark, or as the system has it; kept in this browser. */

const name = 'millrace.theme';

/** @returns {string} `light`, `dark` or '' for the system's own */
export function theme() {
  return localStorage.getItem(name) ?? '';
}

export function showTheme() {
  if (theme() === '') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme();
}

/** @param {string} chosen */
export function keepTheme(chosen) {
  if (chosen === '') localStorage.removeItem(name);
  else localStorage.setItem(name, chosen);
  showTheme();
}
