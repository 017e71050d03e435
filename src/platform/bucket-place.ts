/** A bucket, and the prefix of all keys in use, which is empty or ends with a slash. */
export type BucketPlace = { readonly bucket: string; readonly prefix: string }

/** Parses `s3://bucket/prefix` (the prefix is optional); undefined for anything else. */
export function parseBucketPlace(text: string): BucketPlace | undefined {
  const [, bucket, prefix = ''] = /^s3:\/\/([^/]+)\/?(.*?)\/*$/.exec(text) ?? []
  return bucket === undefined ? undefined : { bucket, prefix: prefix === '' ? '' : `${prefix}/` }
}
