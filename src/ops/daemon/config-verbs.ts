import { Type } from 'typebox';
import type { SettingChange } from '#config';
import { requireAllWorkspaces } from '../sessions/session-lookup.ts';
import { type Verb, defineVerb } from '../verb.ts';

const value = Type.Union([
  Type.String(),
  Type.Number(),
  Type.Boolean(),
  Type.Array(Type.String()),
  Type.Null(),
]);

export const configShowVerb: Verb = defineVerb({
  name: 'config show',
  summary: 'the settings in force, each with where it comes from; secrets masked',
  effect: 'read',
  scope: 'ops:read',
  input: Type.Object({ changed: Type.Optional(Type.Boolean()) }, { additionalProperties: false }),
  output: Type.Object({
    settings: Type.Array(
      Type.Object({
        key: Type.String(),
        value,
        origin: Type.String(),
        variable: Type.String(),
        live: Type.Boolean(),
        help: Type.String(),
      }),
    ),
  }),
  http: { method: 'GET', path: '/v1/config' },
  async run(context, input, caller) {
    requireAllWorkspaces(caller, 'the settings');
    const all = context.settings.effective();
    return {
      settings: all
        .filter(({ origin }) => input.changed !== true || origin !== 'default')
        .map(({ isLive, value: shown, ...rest }) => ({
          ...rest,
          value: shown as string,
          live: isLive,
        })),
    };
  },
});

const change = Type.Object({
  key: Type.String(),
  from: value,
  to: value,
  origin: Type.String(),
});

export const configReloadVerb: Verb = defineVerb({
  name: 'config reload',
  summary: 'read file and environment again; tells what is in force now and what needs a restart',
  effect: 'write',
  scope: 'ops:write',
  input: Type.Object({}, { additionalProperties: false }),
  output: Type.Object({ applied: Type.Array(change), needs_restart: Type.Array(change) }),
  countOf: ({ applied }) => applied.length,
  http: { method: 'POST', path: '/v1/config/reload' },
  async run(context, _input, caller) {
    requireAllWorkspaces(caller, 'a reload');
    const { applied, needsRestart } = context.settings.reload();
    return { applied: applied.map(rowOf), needs_restart: needsRestart.map(rowOf) };
  },
});

function rowOf({ key, from, to, origin }: SettingChange) {
  return { key, from: from as string, to: to as string, origin };
}
