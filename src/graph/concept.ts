import type { ConceptMutation, Properties } from './mutation.ts';

type ConceptKind = ConceptMutation['concept'] | 'Agent';

/** Property that holds the name, as in the predecessor's graph. */
const nameProperties: Readonly<Record<ConceptKind, string>> = {
  Agent: 'agent',
  Orchestrator: 'orchestrator',
  Recipe: 'name',
};

/** A shared concept: its node follows from its kind and name alone. */
export interface Concept {
  readonly kind: ConceptKind;
  readonly name: string;
}

/** One id space per kind, so that an agent named like a recipe is another node (G10). */
export function conceptNodeId(concept: Concept): string {
  return `${concept.kind.toLowerCase()}::${concept.name}`;
}

/** The concept that an id without an owner names. */
export function conceptOfId(id: string): Concept | undefined {
  const kinds = Object.keys(nameProperties) as ConceptKind[];
  const kind = kinds.find((known) => id.startsWith(`${known.toLowerCase()}::`));
  return kind === undefined ? undefined : { kind, name: id.slice(kind.length + 2) };
}

export function conceptLabels(concept: Concept): readonly string[] {
  return [concept.kind, 'SST_CONCEPT'];
}

export function conceptProperties(concept: Concept): Properties {
  return { [nameProperties[concept.kind]]: concept.name };
}
