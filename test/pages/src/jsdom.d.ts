// The part of jsdom that the plots use. Its published types bring those of the browser, which would apply everywhere.
declare module "jsdom" {
  export class JSDOM {
    readonly window: { readonly document: PlotDocument };
  }

  interface PlotDocument {
    createElementNS(namespace: string, name: string): PlotElement;
  }
}
