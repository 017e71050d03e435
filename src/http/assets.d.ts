/** With `{ type: 'file' }` an import is the path of the file, also inside a compiled binary. */
declare module 'swagger-ui-dist/swagger-ui-bundle.js' {
  const path: string
  export = path
}

declare module 'swagger-ui-dist/swagger-ui.css' {
  const path: string
  export = path
}

/** With `{ type: 'text' }` an import is the text itself. */
declare module '*.md' {
  const text: string
  export = text
}

declare module '*/swagger.css' {
  const text: string
  export = text
}
