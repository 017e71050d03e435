/**
 * SDN_ADVANCED.XML. What a feature is, is said by a number that is explained before:
 *
 *     Sanctions ─┬─ DateOfIssue ─ Year, Month, Day
 *                ├─ ReferenceValueSets ─ FeatureTypeValues ─ FeatureType ID=…
 *                └─ DistinctParties ─ … Profile ─ Feature FeatureTypeID=… ─ … VersionDetail   0x…
 */
import {
  type ElementHandler,
  isCurrencyLabel,
  ListFault,
  type ListFormat,
  takeAddress,
  toIsoDay,
} from './list-format.ts'

export const SDN_ADVANCED_ROOT = 'Sanctions'

export function createSdnAdvancedFormat(addresses: Set<string>): ListFormat {
  const date = { Year: '', Month: '', Day: '' }
  let isDate = false
  const part = (name: keyof typeof date): ElementHandler => ({
    // Dates of other things may have parts of the same name.
    close: (text) => isDate && Object.assign(date, { [name]: text }),
  })
  return {
    elements: {
      'Sanctions/DateOfIssue': {
        open() {
          isDate = true
        },
        close() {
          isDate = false
        },
      },
      'DateOfIssue/Year': part('Year'),
      'DateOfIssue/Month': part('Month'),
      'DateOfIssue/Day': part('Day'),
      ...featuresOf(addresses),
    },
    finish() {
      const publishedOn = toIsoDay(date.Year, date.Month, date.Day)
      if (publishedOn === undefined) throw new ListFault('has no DateOfIssue')
      return publishedOn
    },
  }
}

function featuresOf(addresses: Set<string>): Record<string, ElementHandler> {
  const currencyTypes = new Set<string>()
  let declared: string | undefined
  let isCurrency = false
  let hasFeature = false
  return {
    'FeatureTypeValues/FeatureType': {
      open({ ID }) {
        // A feature before it would have been read without knowing what it is.
        if (hasFeature) throw new ListFault('explains a feature type after features')
        declared = ID
      },
      close(text) {
        if (declared !== undefined && isCurrencyLabel(text)) currencyTypes.add(declared)
      },
    },
    'Profile/Feature': {
      open({ FeatureTypeID }) {
        hasFeature = true
        isCurrency = FeatureTypeID !== undefined && currencyTypes.has(FeatureTypeID)
      },
    },
    'FeatureVersion/VersionDetail': {
      close: (text) => isCurrency && takeAddress(addresses, text),
    },
  }
}
