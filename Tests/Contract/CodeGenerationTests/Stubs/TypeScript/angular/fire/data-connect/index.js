exports.CallerSdkTypeEnum = { GeneratedAngular: 'GeneratedAngular' };
exports.DataConnect = {};
