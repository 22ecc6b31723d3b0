// How large the images of a grid are.

export const GAP = 8; // between two images
export const LINE = 27; // below an image, for what is said of it
export const SMALL = 150; // width of an image below which its buttons need a line of their own
export const LARGEST = 340;

/**
 * How wide images are that fill a pane, or 0 where they do not fit into it at a size that can be seen.
 * @param {number} count of images
 * @param {number} width of the pane
 * @param {number} height of the pane
 * @param {number} ratio of a image's width to its height
 */
export function tile(count, width, height, ratio) {
  for (let across = 1; across <= count + 1; across += 1) {
    const side = Math.floor((width - GAP * (across - 1)) / across);
    const tall = side / ratio + LINE * (side < SMALL ? 2 : 1) + GAP;
    if (side < SMALL * 0.78) return 0;
    if (side <= LARGEST && Math.ceil(count / across) * tall <= height) return side;
  }
  return Math.min(width, LARGEST);
}

/**
 * The middle one of some numbers by size, or 0.
 * @param {number[]} numbers
 */
export const middle = numbers => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

/**
 * Width by height of an image that is decoded.
 * @param {HTMLElement} image
 */
export const proportion = image =>
  image instanceof HTMLImageElement && image.naturalHeight ? [image.naturalWidth / image.naturalHeight] : [];
