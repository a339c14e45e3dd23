import {
  CypherMap,
  StoredMap,
  valueOf,
  type NodeValue,
  type RelationshipValue,
} from '../cypher/index.ts';
import { storedJson } from '../stored-json.ts';

/** What a node reads when it is asked for it. */
export interface NodeReader {
  labels(nid: number): readonly string[];
  visible(nid: number): string;
}

export class StoredNodeValue implements NodeValue {
  readonly kind = 'node' as const;
  readonly nid: number;
  readonly id: string;
  readonly workspace: string;
  readonly #reader: NodeReader;
  readonly #given: string | undefined;
  #labels: readonly string[] | undefined;
  #properties: CypherMap | undefined;

  constructor(
    told: {
      readonly nid: number;
      readonly id: string;
      readonly workspace: string;
      readonly visible: string | undefined;
    },
    reader: NodeReader,
  ) {
    this.nid = told.nid;
    this.id = told.id;
    this.workspace = told.workspace;
    this.#given = told.visible;
    this.#reader = reader;
  }

  get labels(): readonly string[] {
    this.#labels ??= this.#reader.labels(this.nid);
    return this.#labels;
  }

  /** Id and workspace are properties too, as in Neo4j. */
  get properties(): CypherMap {
    this.#properties ??= new StoredMap(
      storedJson<Readonly<Record<string, unknown>>>(this.#given ?? this.#reader.visible(this.nid)),
      new Map([
        ['node_id', this.id],
        ['workspace', this.workspace],
      ]),
    );
    return this.#properties;
  }
}

export interface EdgeRow {
  readonly props: string;
  readonly at: string | null;
}

export class StoredRelationship implements RelationshipValue {
  readonly kind = 'relationship' as const;
  readonly from: NodeValue;
  readonly type: string;
  readonly to: NodeValue;
  readonly #row: EdgeRow;
  #properties: CypherMap | undefined;

  constructor(from: NodeValue, type: string, to: NodeValue, row: EdgeRow) {
    this.from = from;
    this.type = type;
    this.to = to;
    this.#row = row;
  }

  get key(): string {
    return `${this.from.nid} ${this.type} ${this.to.nid}`;
  }

  get properties(): CypherMap {
    const { props, at } = this.#row;
    this.#properties ??= new CypherMap([
      ...entriesOf(props),
      ...(at === null ? [] : ([['occurred_at', valueOf({ $time: at })]] as const)),
    ]);
    return this.#properties;
  }
}

function entriesOf(text: string): readonly (readonly [string, ReturnType<typeof valueOf>])[] {
  const properties = storedJson<Readonly<Record<string, unknown>>>(text);
  return Object.entries(properties).map(([name, value]) => [name, valueOf(value)]);
}
