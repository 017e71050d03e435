/**
 * Makes the files of the dashboard from its source, in memory and within some 70 ms: from a
 * checkout nothing has to be built before. The page loads only the files named here, by names that
 * change with the content.
 */
import { ASSETS_PATH, inlineScript, type WebFiles } from './document.ts'
import { findGuides, guidePlugin } from './guide-plugin.ts'
import { moduleOf, type PageModule, pagePaths } from './paths.ts'

const ENTRY = new URL('main.tsx', import.meta.url).pathname
const PICTURE = Bun.file(new URL('card.png', import.meta.url))
const TYPES = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' }

export async function buildWebFiles(): Promise<WebFiles> {
  const { outputs, metafile } = await Bun.build({
    entrypoints: [ENTRY],
    target: 'browser',
    minify: true,
    splitting: true,
    naming: { entry: '[name]-[hash].[ext]', chunk: '[name]-[hash].[ext]' },
    publicPath: `${ASSETS_PATH}/`,
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [guidePlugin],
    jsx: { runtime: 'automatic', importSource: 'preact' },
    metafile: true,
  })
  const assets = new Map<string, { text: string; contentType: string }>()
  let script = ''
  let style = ''
  for (const output of outputs) {
    const [name, text] = [nameOf(output.path), await output.text()]
    if (output.kind === 'entry-point') script = name
    if (!name.endsWith('.css')) assets.set(name, { text, contentType: TYPES.js })
    // The styles of all pages are in that of the start: one that loads with its page moves content.
    else if (name.startsWith('main-')) {
      style = name
      assets.set(name, { text, contentType: TYPES.css })
    }
  }
  const picture = await PICTURE.bytes()
  const chunksOf = createChunkFinder(metafile, script)
  return {
    assets,
    picture: {
      name: `card-${Bun.hash(picture).toString(36)}.png`,
      base64: picture.toBase64(),
    },
    script,
    style,
    guides: Object.fromEntries((await findGuides()).map(({ name, title }) => [name, title])),
    chunks: Object.fromEntries(pagePaths.map(moduleOf).map((module) => [module, chunksOf(module)])),
    inlineScriptHash: new Bun.CryptoHasher('sha256').update(inlineScript).digest('base64'),
  }
}

const nameOf = (path: string): string => path.replace(/^.*\//, '')

/** Finds the chunks that a page needs besides the script of the start: its own and its imports. */
function createChunkFinder(metafile: Bun.BuildMetafile | undefined, script: string) {
  const outputs = Object.entries(metafile?.outputs ?? {}).map(
    ([path, output]) => [nameOf(path), output] as const,
  )
  const byName = new Map(outputs)
  return (module: PageModule): string[] => {
    const [entry] =
      outputs.find(([, { entryPoint }]) => entryPoint?.endsWith(`${module}.tsx`)) ?? []
    const found = new Set(entry === undefined ? [] : [entry])
    for (const name of found) {
      for (const { path, kind } of byName.get(name)?.imports ?? []) {
        if (kind === 'import-statement' && nameOf(path) !== script) found.add(nameOf(path))
      }
    }
    return [...found]
  }
}
