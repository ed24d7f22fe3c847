const firebase = require('firebase/data-connect');
exports.validateReactArgs = (config, ...rest) => firebase.validateArgsWithOptions(config, ...(rest.length < 4 ? [rest[0], rest[1], undefined, false, false] : rest));
exports.useDataConnectQuery = (ref, options, caller) => firebase.calls.push(['useQuery', ref.name, ref.variables ?? null, options ?? null, caller]);
exports.useDataConnectMutation = (factory, options, caller) => {
  const ref = factory({ given: 1 });
  firebase.calls.push(['useMutation', ref.name, ref.variables ?? null, options ?? null, caller]);
};
