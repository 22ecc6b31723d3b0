// What the scripts of all widgets share.

/** What anywidget gives to a view. */
export interface Model {
  get(name: string): any;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(name: string, listener: (...given: any[]) => void): void;
  off(name: string, listener: (...given: any[]) => void): void;
  send(message: unknown, callbacks?: undefined, buffers?: ArrayBuffer[]): void;
  widget_manager?: { kernel?: { status?: string } };
}
