import { phaseAt, type InspectedKey, type Phase } from "@signpost/core/adapter";

/**
 * The phase of a key for people. A key that took the place of another in an emergency has the dates of that key. It is shown as
 * signing from the emergency on.
 */
export function phaseOf(key: InspectedKey, time: number): Phase {
  const { announcedFrom, activeFrom, emergencyAt = announcedFrom } = key;
  return phaseAt(announcedFrom > activeFrom ? { ...key, activeFrom: Math.max(announcedFrom, emergencyAt) } : key, time);
}
