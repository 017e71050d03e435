/** Bytes as JSON-RPC and wallets write them. */
export type Hex = `0x${string}`
