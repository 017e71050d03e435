/**
 * Adds to Swagger UI what keyboards and screen readers need: names of fields and regions, levels of
 * headings, controls that hold no other control.
 */

/** Attributes of elements of Swagger UI; `null` removes one. */
const corrections: [selector: string, name: string, value: string | null][] = [
  ['.opblock-body h4', 'aria-level', '3'],
  ['.opblock-body h5', 'aria-level', '4'],
  // A table is no landmark.
  ['.responses-table', 'role', null],
  ['.microlight, .headers-wrapper', 'tabindex', '0'],
  ['.body-param__text', 'aria-label', 'Request body'],
  ['.examples-select-element', 'aria-label', 'Example'],
]

function correct(host: Element) {
  for (const [selector, name, value] of corrections) {
    for (const element of host.querySelectorAll(selector)) setAttribute(element, name, value)
  }
  for (const row of host.querySelectorAll<HTMLElement>('tr[data-param-name]')) {
    const { paramName = '' } = row.dataset
    const fields = 'select:not(.examples-select-element), input:not([type=checkbox]), textarea'
    for (const field of row.querySelectorAll(fields)) setAttribute(field, 'aria-label', paramName)
  }
}

/** Writes only changed attributes: each write is another mutation. */
function setAttribute(element: Element, name: string, value: string | null) {
  if (element.getAttribute(name) === value) return
  if (value === null) element.removeAttribute(name)
  else element.setAttribute(name, value)
}

/** Corrects the elements of `host` before each paint, until the returned function is called. */
export function keepAccessible(host: Element): () => void {
  const observer = new MutationObserver(() => correct(host))
  observer.observe(host, { childList: true, subtree: true, attributeFilter: ['aria-label'] })
  correct(host)
  return () => observer.disconnect()
}
