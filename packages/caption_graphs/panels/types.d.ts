// What the panels of this package draw: the records of graph.py, way.py and words.py.

export type Part = "objects" | "attributes" | "relations";

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

export interface Change {
  part: Part;
  index: number;
  word: string;
}
