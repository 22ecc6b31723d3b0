// What the kernel sends to the map (widget.py), and what the scripts make of it.

export type { Model } from "../widget";

/** A colour of all maps: categories with labels and looks, or numbers with the two ends of their scale. */
export interface Colour {
  name: string;
  labels?: string[];
  looks?: [string, string][];
  ends?: [number, number];
  data: DataView[];
}

export interface Config {
  size: number;
  images: number;
  own: DataView;
  captions: string[];
  k: number;
  colours: Colour[];
  ramp: string[];
  unknown: string;
  moved?: DataView;
  maps: { name: string; about: string; points: DataView; near: DataView }[];
}

export interface Run {
  name: string;
  about: string;
  xy: Float32Array;
  near: Int32Array;
}

/** How far each pixel of a mark is covered, as offsets that can be added to a place in the image. */
export interface Stamp {
  x: Int16Array;
  y: Int16Array;
  cover: Uint8Array;
  reach: number;
}

export type Place = [number, number];

/** Properties of an element, its data attributes and its ARIA attributes. */
export type Properties = Record<string, unknown> & {
  dataset?: Record<string, string>;
  aria?: Record<string, string | boolean>;
  onkeydown?: (event: KeyboardEvent) => void;
};
