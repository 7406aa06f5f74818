// Prints the rows of a Parquet file as lines of JSON, and its key-value metadata as the last one.
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'

const plain = (_, v) => typeof v === 'bigint' ? v.toString() : v
const file = await asyncBufferFromFile(process.argv[2])
const metadata = await parquetMetadataAsync(file)
for (const row of await parquetReadObjects({ file, compressors })) console.log(JSON.stringify(row, plain))
console.log(JSON.stringify(Object.fromEntries((metadata.key_value_metadata ?? []).map(e => [e.key, e.value]))))
