/** The text formats of our documents, registered so that TypeBox can validate responses. */
import { FormatRegistry } from '@sinclair/typebox'

FormatRegistry.Set('date-time', (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text))
FormatRegistry.Set('date', (text) => /^\d{4}-\d\d-\d\d$/.test(text))
