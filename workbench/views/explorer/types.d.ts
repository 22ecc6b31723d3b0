// What the scripts of the explorer share: the records of answers.py and questions.py, and the model of a widget.

export type Mark = "own" | "relevant" | "not" | "unknown";
export type Part = "objects" | "attributes" | "relations";
export type Panel = "graph" | "way" | "words";
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

export interface Graph {
  objects: string[];
  attributes: [number, string][];
  relations: [number, string, number][];
}

/**
 * The query with one thing dropped or swapped: "asked" = as it was asked; "remade" = written again from its graph,
 * unedited, which edits are compared with, so that the effect of the wording is not counted as theirs; "edited" = after
 * the edits so far; "drop" = what would come of dropping one more thing. Scores and ranks are of the watched item, one a
 * run.
 */
export interface Edit {
  kind: "asked" | "remade" | "edited" | "drop";
  label: string;
  sentence: string;
  scores: number[];
  ranks: number[];
}

/** What one run finds nearest on the way from the query (walk 0) to the root (walk 1). */
export interface Step {
  run: number;
  walk: number;
  text: string;
  level: number | null;
  cosine: number;
  image: string;
  thumbnail: string;
}

/** How much the score of the watched item falls when a word is left out, one number a run. */
export interface Word {
  text: string;
  effects: number[];
}

export interface Answer {
  query: { label: string; seeks: Seeks; text: string; image: string; walk: number; measure: string };
  runs: string[];
  items: Item[];
  columns: number[][];
  gallery: number;
  passed: number;
  grades: string;
  pins: number[];
  watched: number | null;
  graph: Graph | null;
  edits: Edit[];
  way: Step[];
  words: Word[];
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

export interface Change {
  part: Part;
  index: number;
  word: string;
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
  walk: number;
  pins: number[];
  watched: number | null;
  changes: Change[];
  extras: Panel[];
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
  walk: number;
  changes: Change[];
  open: Panel[];
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

/** Attributes of an element and its listeners. */
export type Attributes = Record<string, unknown> & {
  onclick?: (event: MouseEvent) => void;
  onkeydown?: (event: KeyboardEvent) => void;
  onsubmit?: (event: SubmitEvent) => void;
  onfocus?: (event: FocusEvent) => void;
};

export type Child = Node | string | null | undefined | false;
