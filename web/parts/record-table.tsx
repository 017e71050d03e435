import type { ComponentChildren } from 'preact'

/** Records as rows, which a phone shows as blocks. */
export const RecordTable = (props: { columns: readonly string[]; children: ComponentChildren }) => (
  <div class="table-wrap">
    <table class="records">
      <thead>
        <tr>
          {props.columns.map((name) => (
            <th key={name}>{name}</th>
          ))}
        </tr>
      </thead>
      <tbody>{props.children}</tbody>
    </table>
  </div>
)
