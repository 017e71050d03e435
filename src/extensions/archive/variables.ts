import { parseBucketPlace } from '#src/platform/bucket-place.ts'
import { bytes, integer } from '#src/platform/setting.ts'

/** A place in a bucket; empty for none. */
const parseArchive = (text: string): string | undefined =>
  text === '' || parseBucketPlace(text) ? text : undefined

export const variables = {
  archive: {
    name: 'BOOKFEED_ARCHIVE',
    default: '',
    parse: parseArchive,
    accepts: 's3://bucket/prefix',
    description:
      'Bucket to which the books of old markets are moved from the database; the server serves them from there. It is accessed with S3_ENDPOINT, S3_REGION, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, or AWS_…. Empty: no bucket.',
  },
  archiveDays: {
    name: 'BOOKFEED_ARCHIVE_DAYS',
    default: '30',
    ...integer(0, 36_500),
    description: 'Days for which a market stays whole in the database after its end.',
  },
  archiveCacheBytes: {
    name: 'BOOKFEED_ARCHIVE_CACHE_GB',
    default: '0',
    ...bytes(0, 100_000, 1e9),
    description:
      'Room in the data folder (`chunks.db`) for chunks read from the bucket, in GB. They survive a restart; those that were used longest ago are removed first. What was used within a minute is kept in any case.',
  },
}
