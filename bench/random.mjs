// Numbers from a fixed generator, so that every run and every peer does the same work: picker(SEED)(LIMIT).
export function picker(seed) {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % limit;
  };
}
