/**
 * Hides the source of a handler from Elysia, which reads it to guess what it needs, and takes any
 * call behind `return` or `=>` for a promise: the answer would come a tick later, which costs a
 * tenth of a page. The handler must answer at once and use `params` and `request` alone.
 */
export const synchronous = <Context, Answer>(
  handler: (context: Context) => Answer,
): ((context: Context) => Answer) => handler.bind(undefined)
