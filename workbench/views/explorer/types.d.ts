// What the scripts of the explorer share: the records of answers.py and questions.py, and the model of a widget.

export type Mark = "own" | "relevant" | "not" | "unknown";
export type View = import("./explorer.js").View;
export type Page = import("./static.js").StaticPage;
export type Seeks = "images" | "captions" | "entities";

export type { Model } from "../widget";

export interface Config {
  split: string;
  grades: string;
  marks: Record<Mark, string>;
  runs: string[];
  about: { tags: string[]; note: string }[];
  levels: number[];
  sizes: Record<Seeks, number>;
  k: number;
  graded: boolean;
  start: string;
  startRow: number | null;
  panels: { name: string; title: string }[];
}

/** What the script of a panel makes: its element, and how it draws into it what Python's panel has answered. */
export interface PanelScript {
  box: HTMLElement;
  draw(data: any, answer: Answer): void;
  /** What Python's panel reads along with a question, as JSON. */
  settings?(): unknown;
  /** Whether these settings go along with a question of these terms; without, while the panel is open. */
  applies?(terms: Term[], open: boolean): boolean;
  /** Take over settings of a question that was kept. */
  restore?(settings: any): void;
  /** Another sentence is asked. */
  forget?(): void;
}

/** The default export of a panel's script; `page` draws the same on a page without a kernel. */
export interface PanelClass {
  new (view: View): PanelScript;
  page?(data: any, page: Page): Child;
}

export interface Item {
  row: number;
  id: string;
  captions: string[];
  rows: number[];
  thumbnail: string;
  grade: number | null;
  mark: Mark;
  level: number | null;
  count: number;
  scores: (number | null)[];
  ranks: (number | null)[];
}

export interface Answer {
  query: { label: string; seeks: Seeks; text: string; image: string; measure: string };
  runs: string[];
  items: Item[];
  columns: number[][];
  gallery: number;
  passed: number;
  grades: string;
  pins: number[];
  watched: number | null;
  panels: Record<string, any>;
  note: string;
  truth: string;
  partners: Item[];
  skip: number;
  unusual: Record<string, string[]>;
}

export interface Term {
  kind: string;
  value: string | number;
  sign: number;
  name: string;
  thumbnail?: string;
}

export interface FilterValues {
  text: string;
  levels: number[];
  low: number;
  high: number;
  marks: string[];
}

export interface Question {
  terms: Term[];
  seeks: string;
  k: number;
  skip: number;
  pins: number[];
  watched: number | null;
  settings: Record<string, unknown>;
  shown: string[];
  filters: FilterValues & { images: number[] };
}

/** What is asked and how it is looked at. */
export interface State {
  text: string;
  /** Files of an earlier state lack it. */
  plus?: string;
  minus: string;
  seeks: string;
  k: string;
  size: string;
  layout: string | null;
  base: number;
  hidden: number[];
  chips: Term[];
  pins: number[];
  /** Whether a panel words the sentence. */
  reworded: boolean;
  panels: Record<string, unknown>;
  open: string[];
  filters: FilterValues;
}

/** A question that is kept: saved ones have a question that Python can ask again. */
export interface Kept {
  name: string;
  tags: string[];
  state: State;
  question?: Question;
}

/**
 * A caption on which runs disagree. Its kind is "text" where these words name it, and "caption" where an earlier one
 * reads the same, so that the row must be asked. Ranks are of its own image, grades of the image that each run puts
 * first, one a run.
 */
export interface Difference {
  row: number;
  text: string;
  thumbnail: string;
  ranks: number[];
  grades: (number | null)[];
}

/** A column of the table of queries: one value for all, or bytes of some type at a place among the buffers. */
export interface Column {
  constant?: number;
  type?: "i1" | "i2" | "i4" | "f4" | "f8";
  at?: number;
}

/** Edges are of a field of numbers, whose column has the numbers; of others it has the place of the label. */
export interface FieldRecord {
  name: string;
  kind: string;
  source: string;
  edges: number[] | null;
  labels: string[];
  column: Column;
}

export interface NumberRecord {
  key: string;
  title: string;
  values: Column[];
  chance: Column;
}

/** The queries of one direction, as queries.py makes them. */
export interface QueryRecord {
  direction: "t2i" | "i2t";
  size: number;
  ids: string[];
  texts: string[];
  images: Column;
  fields: FieldRecord[];
  more: { name: string; about: string }[];
  runs: string[];
  ranks: Column[];
  numbers: NumberRecord[];
  conditions: { label: string; column: Column }[];
  /** On a page without a kernel: scores of the best ground truths, the best wrong answers, and ids of all items. */
  answers?: { items: string[]; runs: { score: Column; wrong: Column; wrong_score: Column }[] };
  /** On a page without a kernel, the bytes of the columns. */
  blobs?: string[];
}

/** A condition that is no bar of a field, and where it holds. */
export interface Condition {
  label: string;
  holds: ArrayLike<number>;
}

/** What stands around the queries: the widget, or a page without a kernel. */
export interface QueryHost {
  /** Get the table of a direction, with some more fields. */
  load(direction: string, names: string[]): void;
  /** Get where a condition holds that the table does not know; false = nobody can be asked. */
  learn(direction: string, label: string): boolean;
  /** Whether it is known what the runs answer to a query. */
  has(row: number): boolean;
  /** Show what the runs answer to a query. */
  ask(row: number): void;
  /** The image of a query, where it is at hand. */
  image(key: string): Node | null;
  /** Get the images of these queries, and draw the list again. */
  want(keys: string[]): void;
  /** The selection has changed. */
  changed(): void;
  say(text: string): void;
  /** Show the list of the queries. */
  list(): void;
  /** What stands above the list: how a selection is kept and written. */
  foot(): Child;
}

/** Attributes of an element and its listeners. */
export type Attributes = Record<string, unknown> & {
  onclick?: (event: MouseEvent) => void;
  onkeydown?: (event: KeyboardEvent) => void;
  onsubmit?: (event: SubmitEvent) => void;
  onfocus?: (event: FocusEvent) => void;
};

export type Child = Node | string | null | undefined | false;
