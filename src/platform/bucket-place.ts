/** Every key of it begins with `prefix`, which is empty or ends with a slash. */
export type BucketPlace = { readonly bucket: string; readonly prefix: string }

/** Reads `s3://bucket/prefix` (the prefix may be absent); undefined for anything else. */
export function parseBucketPlace(text: string): BucketPlace | undefined {
  const [, bucket, prefix = ''] = /^s3:\/\/([^/]+)\/?(.*?)\/*$/.exec(text) ?? []
  return bucket === undefined ? undefined : { bucket, prefix: prefix === '' ? '' : `${prefix}/` }
}
