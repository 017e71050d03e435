import { expect, test } from 'bun:test'

import { parseBucketPlace } from '#src/platform/bucket-place.ts'

test('A place in a bucket has a prefix that is empty or ends with one slash', () => {
  expect(parseBucketPlace('s3://books/a/b')).toEqual({ bucket: 'books', prefix: 'a/b/' })
  expect(parseBucketPlace('s3://books/a/b//')).toEqual({ bucket: 'books', prefix: 'a/b/' })
  for (const text of ['s3://books', 's3://books/'])
    expect(parseBucketPlace(text)).toEqual({ bucket: 'books', prefix: '' })
})

test('Anything else is no place in a bucket', () => {
  for (const text of ['', 'off', '/mnt/a', 's3:books', 's3://', 's3:///a', 'S3://a', 'https://a/b'])
    expect(parseBucketPlace(text)).toBeUndefined()
})
