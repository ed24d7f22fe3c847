export class Injector { get<T>(token: unknown): T; }
