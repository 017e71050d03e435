/** How soon the engine compiles what runs on this thread. */

/** Most of what a start runs, it runs once. */
export const compileLittle = (): void => Bun.unsafe.setJITPolicy(8)
export const compileAsUsual = (): void => Bun.unsafe.setJITPolicy(1)
