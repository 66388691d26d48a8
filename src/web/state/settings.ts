/** The setting that the document of the page carries in a `<meta>`. */

/** True when the service offers a throw-away wallet and test funds. */
export const demoOffered: boolean =
  document.querySelector<HTMLMetaElement>('meta[name="redbook-demo"]')?.content === 'true';
