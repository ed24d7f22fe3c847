// The part of the public surface of @tanstack-query-firebase/angular/data-connect that generated code uses.
export interface CreateDataConnectQueryOptions<Data, Variables> { queryFn: () => unknown; enabled?: boolean; data?: Data; variables?: Variables; }
export interface CreateDataConnectQueryResult<Data, Variables> { data: () => Data | undefined; variables?: Variables; }
export interface DataConnectMutationOptionsUndefinedMutationFn<Data, Failure, Variables> { data?: Data; error?: Failure; variables?: Variables; }
export interface CreateDataConnectMutationResult<Data, Variables, Arguments> { data: () => Data | undefined; variables?: Variables; mutate: (given: Arguments) => void; }
