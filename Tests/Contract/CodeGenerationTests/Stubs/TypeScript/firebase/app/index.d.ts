export class FirebaseError extends Error { readonly code: string; }
