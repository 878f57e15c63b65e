const MAX_TEXTS = 10_000;

/** Keeps a code or a nonce until it is used. Anyone may ask for more of them, so the oldest are forgotten. */
export function remember(texts: Set<string>, text: string): void {
  texts.add(text);
  for (const oldest of texts) {
    if (texts.size <= MAX_TEXTS) return;
    texts.delete(oldest);
  }
}
