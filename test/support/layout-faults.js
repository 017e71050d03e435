/** What is cut off in a page. `browser.ts` runs it there. */

// biome-ignore lint/correctness/noUnusedVariables: called by the text that is run with it.
function findLayoutFaults() {
  const SLACK = 1.5
  const found = new Set()
  const { clientWidth, clientHeight } = document.documentElement
  const scrolls = (style) => /auto|scroll/.test(style.overflowX)
  const isBlock = ({ display }) => !/^inline$|contents/.test(display)
  const beyond = (inner, outer) =>
    inner.right > outer.right + SLACK || inner.left < outer.left - SLACK

  // A computed style is computed at each reading.
  function styleOf(each) {
    const { display, position, overflowX, overflowY, clipPath, textOverflow, scrollbarWidth } =
      getComputedStyle(each)
    return { display, position, overflowX, overflowY, clipPath, textOverflow, scrollbarWidth }
  }
  const known = new Map()
  /** Elements from this one up to the document, with their styles. */
  function upwards(each) {
    const found = known.get(each)
    if (found !== undefined) return found
    const own = { each, style: styleOf(each), box: each.getBoundingClientRect() }
    const all = [own, ...(each.parentElement === null ? [] : upwards(each.parentElement))]
    known.set(each, all)
    return all
  }
  const isSeen = (element) =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
    upwards(element).every(({ style }) => style.clipPath !== 'inset(50%)') &&
    element.closest('.skip, svg') === null
  /** Why a rectangle cannot be seen; undefined if it can. */
  function hiddenBy(element, box) {
    for (const { each, style, box: outer } of upwards(element)) {
      if (each === document.documentElement || each === document.body) break
      const isLayer = each.matches('dialog, [popover]')
      if (each !== element && scrolls(style) && !isLayer && style.scrollbarWidth !== 'none')
        return undefined
      if (each !== element && style.overflowX !== 'visible' && beyond(box, outer))
        return `cut off by ${each.className || each.localName}`
      const isHidden = /hidden|clip/.test(style.overflowY)
      if (each !== element && isHidden && box.bottom > outer.bottom + SLACK)
        return `cut off below by ${each.className || each.localName}`
      if (style.position !== 'fixed') continue
      const end = Math.min(clientHeight, outer.bottom)
      if (outer.top < 0 || (outer.bottom > clientHeight && !/auto|scroll/.test(style.overflowY)))
        return `outside of the window, which ends at ${end}`
      break
    }
    return beyond(box, { left: 0, right: clientWidth }) ? 'outside of the window' : undefined
  }

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement
    const text = node.textContent?.trim() ?? ''
    if (element === null || text === '' || element.closest('script, style, noscript, option'))
      continue
    if (!isSeen(element)) continue
    const range = document.createRange()
    range.selectNodeContents(node)
    const isEllipsized = upwards(element)
      .slice(0, 3)
      .some(({ each, style }) => style.textOverflow === 'ellipsis' && each.closest('[title]'))
    if (isEllipsized) continue
    const block = upwards(element).find(({ style }) => isBlock(style))
    for (const rect of range.getClientRects()) {
      if (rect.width === 0) continue
      if (block && !scrolls(block.style) && beyond(rect, block.box))
        found.add(`wider than its box: ${text.slice(0, 80)}`)
      const why = hiddenBy(element, rect)
      if (why !== undefined && !(block && scrolls(block.style)))
        found.add(`${why}: ${text.slice(0, 80)}`)
    }
  }
  const controls = 'a[href], button, input, select, textarea, summary, [tabindex="0"]'
  for (const control of document.querySelectorAll(controls)) {
    if (!isSeen(control)) continue
    const why = hiddenBy(control, control.getBoundingClientRect())
    if (why !== undefined) found.add(`${why}: ${control.outerHTML.slice(0, 120)}`)
  }
  return [...found]
}
