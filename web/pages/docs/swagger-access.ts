/**
 * What Swagger UI lacks for a keyboard and for a screen reader: names of fields and regions, levels
 * of headings, controls that hold no other control.
 */

type LinkProps = { path: string; enabled: boolean }
type Component<Props> = (props: Props) => unknown
type System = { React: { createElement<Props>(type: Component<Props>, props: Props): unknown } }

/** The path of an operation is in the button that opens it, so it is text there and no link. */
export const linksOutsideButtons = () => ({
  wrapComponents: {
    DeepLink: (Link: Component<LinkProps>, { React }: System) =>
      function OuterLink(props: LinkProps) {
        const isOfOperation = props.path.includes('/')
        return React.createElement(Link, { ...props, enabled: props.enabled && !isOfOperation })
      },
  },
})

/** Attributes of what Swagger UI draws; `null` removes one. */
const corrections: [selector: string, name: string, value: string | null][] = [
  ['.information-container', 'role', 'region'],
  ['.information-container', 'aria-label', 'About the API'],
  ['.scheme-container', 'role', 'region'],
  ['.scheme-container', 'aria-label', 'Server and authorization'],
  ['.modal-ux', 'role', 'dialog'],
  ['.modal-ux', 'aria-label', 'Available authorizations'],
  ['.close-modal', 'aria-label', 'Close'],
  // It differs from the text of the button.
  ['.auth-btn-wrapper button', 'aria-label', null],
  ['.opblock-tag, .modal-ux h3', 'aria-level', '2'],
  ['.opblock-body h4, .modal-ux h4', 'aria-level', '3'],
  ['.opblock-body h5, .modal-ux h6', 'aria-level', '4'],
  // A table is no landmark.
  ['.responses-table', 'role', null],
  ['.microlight, .headers-wrapper', 'tabindex', '0'],
  ['#servers', 'aria-label', 'Server'],
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

/** Writes only what differs: each write is another mutation. */
function setAttribute(element: Element, name: string, value: string | null) {
  if (element.getAttribute(name) === value) return
  if (value === null) element.removeAttribute(name)
  else element.setAttribute(name, value)
}

/** Corrects what is drawn in `host` before it is painted, until the function returned is called. */
export function keepAccessible(host: Element): () => void {
  const observer = new MutationObserver(() => correct(host))
  observer.observe(host, { childList: true, subtree: true, attributeFilter: ['aria-label'] })
  correct(host)
  return () => observer.disconnect()
}
