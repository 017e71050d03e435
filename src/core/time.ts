/** The current time in Unix milliseconds; injected, so that tests can move it. */
export type Clock = () => number
