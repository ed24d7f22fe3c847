const firebase = require('firebase/data-connect');
exports.injectDataConnectQuery = (options, injector, caller) => {
  const { queryFn, ...rest } = options();
  const ref = queryFn();
  firebase.calls.push(['injectQuery', ref.name, ref.variables ?? null, rest, caller]);
};
exports.injectDataConnectMutation = (reference, options, injector, caller) =>
  firebase.calls.push(['injectMutation', reference.operationName, caller]);
