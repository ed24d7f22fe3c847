// Records the calls of generated code.
exports.calls = [];
class DataConnect {
  useGen(flag) { exports.calls.push(['useGen', flag]); }
  executeQuery(name, variables, options) { exports.calls.push(['executeQuery', name, variables ?? null, options ?? null]); }
  executeMutation(name, variables, options) {
    exports.calls.push(['executeMutation', name, variables ?? null, options ?? null]);
  }
}
exports.getDataConnect = () => new DataConnect();
exports.validateAdminArgs = (config, first, second, third, hasVars, isRequired) => {
  const isInstance = first instanceof DataConnect;
  const rest = isInstance ? [second, third] : [first, second];
  const [vars, options] = hasVars ? rest : [undefined, rest[0]];
  if (isRequired && !vars) throw new Error('Variables required.');
  return { dc: isInstance ? first : new DataConnect(), vars, options };
};
