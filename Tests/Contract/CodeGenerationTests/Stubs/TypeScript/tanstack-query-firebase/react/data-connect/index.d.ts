// The part of the public surface of @tanstack-query-firebase/react/data-connect that generated code uses.
export interface useDataConnectQueryOptions<Data> { enabled?: boolean; select?: (data: Data) => unknown; }
export interface useDataConnectMutationOptions<Data, Failure, Variables> {
  onSuccess?: (data: Data, variables: Variables) => void;
  onError?: (error: Failure) => void;
}
export interface UseDataConnectQueryResult<Data, Variables> { data?: Data; variables?: Variables; }
export interface UseDataConnectMutationResult<Data, Variables> {
  data?: Data;
  mutate: undefined extends Variables ? () => void : (variables: Variables) => void;
}
