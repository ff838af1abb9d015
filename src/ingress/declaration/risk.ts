/** How much harm an annotation can do; `annotations-risk-level` in the ConfigMap says how much is allowed. */
export const risks = ['Low', 'Medium', 'High', 'Critical'] as const;
export type Risk = (typeof risks)[number];
