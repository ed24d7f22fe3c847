// The part of the public surface of firebase/data-connect that generated code and its callers use.
export interface ConnectorConfig { location: string; connector: string; service: string; }
export interface CacheProvider<T extends string> { type: T; }
export interface DataConnectSettings {
  cacheSettings?: { cacheProvider: CacheProvider<string>; maxAgeSeconds?: number };
}
export class DataConnect { readonly connectorConfig: ConnectorConfig; private constructor(); }
export enum CallerSdkTypeEnum { Base = 'Base', GeneratedReact = 'GeneratedReact', GeneratedAngular = 'GeneratedAngular' }
export interface QueryRef<Data, Variables> { refType: 'query'; dataConnect: DataConnect; name: string; variables: Variables; data?: Data; }
export interface MutationRef<Data, Variables> { refType: 'mutation'; dataConnect: DataConnect; name: string; variables: Variables; data?: Data; }
export interface QueryResult<Data, Variables> { data: Data; ref: QueryRef<Data, Variables>; }
export interface MutationResult<Data, Variables> { data: Data; ref: MutationRef<Data, Variables>; }
export interface QueryPromise<Data, Variables> extends Promise<QueryResult<Data, Variables>> {}
export interface MutationPromise<Data, Variables> extends Promise<MutationResult<Data, Variables>> {}
export type QueryFetchPolicy = 'PREFER_CACHE' | 'CACHE_ONLY' | 'SERVER_ONLY';
export interface ExecuteQueryOptions { fetchPolicy: QueryFetchPolicy; }
export function getDataConnect(config: ConnectorConfig, settings?: DataConnectSettings): DataConnect;
export function makeMemoryCacheProvider(): CacheProvider<'MEMORY'>;
export function subscribe<Data, Variables>(ref: QueryRef<Data, Variables>, onNext: (result: QueryResult<Data, Variables>) => void): () => void;
