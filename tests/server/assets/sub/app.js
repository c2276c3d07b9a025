export const answer = 42; // "quoted" \ back
