/** The JIT policy of this thread: how soon the engine compiles code. */

/** For the start, most of whose code runs once. */
export const compileLittle = (): void => Bun.unsafe.setJITPolicy(8)
export const compileAsUsual = (): void => Bun.unsafe.setJITPolicy(1)
