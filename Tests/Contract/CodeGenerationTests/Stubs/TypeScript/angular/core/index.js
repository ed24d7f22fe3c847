const { getDataConnect } = require('firebase/data-connect');
exports.EnvironmentInjector = {};
exports.inject = () => ({ get: () => getDataConnect({}) });
