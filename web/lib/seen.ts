import { useEffect, useRef, useState } from 'preact/hooks'

/** True once an element has been in view: its content is loaded only then. */
export function useSeen<T extends Element>() {
  const ref = useRef<T>(null)
  const [isSeen, setSeen] = useState(false)
  useEffect(() => {
    if (ref.current === null) return
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true)
    })
    observer.observe(ref.current)
    return () => observer.disconnect()
  }, [])
  return [ref, isSeen] as const
}
