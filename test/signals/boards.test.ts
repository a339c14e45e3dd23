import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { metricNames } from '#signals';
import { listFiles, readText } from '../tidy/source-tree.ts';

const board = readText('docs/operations/grafana-dashboard.json');
const alerts = readText('docs/operations/prometheus-alerts.yaml');

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly targets?: readonly { readonly expr: string }[];
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: {
    readonly summary: string;
    readonly description: string;
    readonly runbook: string;
  };
}

const panels = (JSON.parse(board) as { readonly panels: readonly Panel[] }).panels;
const rules = (
  parse(alerts) as { readonly groups: readonly { readonly rules: readonly Rule[] }[] }
).groups.flatMap((group) => group.rules);

/** A histogram is queried by its parts. */
const named = (text: string): readonly string[] =>
  [...text.matchAll(/\bmillrace_[a-z0-9_]+/g)].map(([name]) =>
    name.replace(/_(bucket|sum|count)$/, ''),
  );

/** GitHub's anchors of a page's headings. */
const anchors = (page: string): readonly string[] =>
  [...readText(page).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );

describe('the board', () => {
  it('asks only for metrics that there are, and for most of them', () => {
    const asked = panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => named(expr)));
    expect(asked.filter((name) => !metricNames.includes(name))).toEqual([]);
    const shown = metricNames.filter((name) => asked.includes(name));
    expect(shown.length).toBeGreaterThan(metricNames.length * 0.9);
  });

  it('gives each panel an id and a place of its own', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const places = new Set<string>();
    for (const { gridPos, title } of panels) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(places.has(`${x} ${y}`), `${title} lies over another panel`).toBe(false);
          places.add(`${x} ${y}`);
        }
    }
  });
});

describe('the alert rules', () => {
  it('ask only for metrics that there are, and say what to do', () => {
    expect(rules.length).toBeGreaterThan(10);
    expect(named(alerts).filter((name) => !metricNames.includes(name))).toEqual([]);
    for (const { alert, expr, labels, annotations } of rules) {
      expect(alert).toMatch(/^Millrace[A-Z]\w+$/);
      expect(expr.trim(), alert).not.toBe('');
      expect(['warning', 'critical'], alert).toContain(labels.severity);
      expect(annotations.summary.length * annotations.description.length, alert).toBeGreaterThan(0);
      const [page = '', anchor] = annotations.runbook.split('#');
      expect(listFiles('docs'), alert).toContain(page);
      if (anchor !== undefined) expect(anchors(page), alert).toContain(anchor);
    }
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });
});
