// Records the calls of generated code. The rules for arguments are those of the SDK: an instance of DataConnect may
// come first, then the variables, then the options.
exports.calls = [];
class DataConnect {
  constructor(name) { this.name = name; }
  _useGeneratedSdk() { exports.calls.push(['generated', this.name]); }
}
exports.CallerSdkTypeEnum = { GeneratedReact: 'GeneratedReact', GeneratedAngular: 'GeneratedAngular' };
exports.getDataConnect = (config, settings) => new DataConnect(settings ? 'configured' : 'default');
exports.makeMemoryCacheProvider = () => ({ type: 'MEMORY' });
exports.validateArgs = (config, first, second, isRequired) => {
  const isInstance = first instanceof DataConnect;
  const vars = isInstance ? second : first;
  if (isRequired && !vars) throw new Error('Variables required.');
  return { dc: isInstance ? first : exports.getDataConnect(config), vars };
};
exports.validateArgsWithOptions = (config, first, second, third, hasVars, isRequired) => {
  const isInstance = first instanceof DataConnect;
  const rest = isInstance ? [second, third] : [first, second];
  const [vars, options] = hasVars ? rest : [undefined, rest[0]];
  if (isRequired && !vars) throw new Error('Variables required.');
  return { dc: isInstance ? first : exports.getDataConnect(config), vars, options };
};
exports.queryRef = (dc, name, variables) => ({ refType: 'query', dc: dc.name, name, variables });
exports.mutationRef = (dc, name, variables) => ({ refType: 'mutation', dc: dc.name, name, variables });
exports.executeQuery = (ref, options) => {
  exports.calls.push(['executeQuery', ref.dc, ref.name, ref.variables ?? null, options ?? null]);
  return Promise.resolve({ data: {}, ref });
};
exports.executeMutation = (ref) => {
  exports.calls.push(['executeMutation', ref.dc, ref.name, ref.variables ?? null]);
  return Promise.resolve({ data: {}, ref });
};
