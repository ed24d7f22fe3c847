// The part of the public surface of firebase-admin/data-connect that generated code and its callers use.
export interface ConnectorConfig { location: string; serviceId: string; connector?: string; }
export class DataConnect { readonly connectorConfig: ConnectorConfig; private constructor(); }
export interface OperationOptions { impersonate?: { unauthenticated: true } | { authClaims: object }; }
export interface ExecuteOperationResponse<Data> { data: Data; }
export function getDataConnect(config: ConnectorConfig): DataConnect;
