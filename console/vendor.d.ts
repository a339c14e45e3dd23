/** Libraries that the daemon serves from their packages. */
declare module '*/vendor/cytoscape.js' {
  export { default } from 'cytoscape';
}
declare module '*/vendor/uplot.js' {
  export { default } from 'uplot';
}
