/** Sanctions lists in the formats of OFAC; every name and address is fictitious. */

/** The n-th fictitious address, in mixed case as in real lists. */
export const madeUpAddress = (n: number): string => `0xFaCe${n.toString(16).padStart(36, '0')}`

export type SdnOptions = {
  addresses?: readonly string[]
  /** The date with the month first: `11/20/2026`. */
  date?: string
  recordCount?: number
}

const xmlHead = '<?xml version="1.0" standalone="yes"?>\n'
const ids = (type: string, value: string) =>
  `<id><uid>7</uid><idType>${type}</idType><idNumber>${value}</idNumber></id>`

/** SDN.XML: each entry has a passport, and an address if one is left. */
export function sdnXml(options: SdnOptions = {}): string {
  const { addresses = [madeUpAddress(1)], date = '11/20/2026' } = options
  const entries = addresses.map(
    (address, index) =>
      `<sdnEntry><uid>${index}</uid><lastName>DOE &amp; CO</lastName><sdnType>Entity</sdnType><idList>${ids('Passport', '0xA1')}${ids('Digital Currency Address - ETH', address)}</idList></sdnEntry>`,
  )
  const count = options.recordCount ?? entries.length
  return `${xmlHead}<sdnList xmlns="https://example.com/XML"><publshInformation><Publish_Date>${date}</Publish_Date><Record_Count>${count}</Record_Count></publshInformation>${entries.join('\n')}</sdnList>\n`
}

/** SDN_ADVANCED.XML with an arbitrary number of the feature type. */
export function sdnAdvancedXml(options: { addresses?: readonly string[] } = {}): string {
  const { addresses = [madeUpAddress(1)] } = options
  const features = addresses.map((address) => advancedFeature('901', address))
  return `${xmlHead}<Sanctions xmlns="https://example.com/ADVANCED" Version="1"><DateOfIssue CalendarTypeID="1"><Year>2026</Year><Month>11</Month><Day>5</Day></DateOfIssue><ReferenceValueSets><FeatureTypeValues><FeatureType ID="8" FeatureTypeGroupID="1">Birthdate</FeatureType><FeatureType ID="901" FeatureTypeGroupID="1">Digital Currency Address - USDT</FeatureType></FeatureTypeValues></ReferenceValueSets><DistinctParties><DistinctParty FixedRef="36"><Comment /><Profile ID="36">${advancedFeature('8', madeUpAddress(99))}${features.join('\n')}</Profile></DistinctParty></DistinctParties></Sanctions>\n`
}

const advancedFeature = (type: string, value: string) =>
  `<Feature ID="1" FeatureTypeID="${type}"><FeatureVersion ID="2"><Comment /><DatePeriod><Start><Year>1970</Year></Start></DatePeriod><VersionDetail DetailTypeID="1432">${value}</VersionDetail></FeatureVersion></Feature>`
