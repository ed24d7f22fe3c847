// Calls generated code and prints what it called in turn.
const firebase = require('firebase/data-connect');
const admin = require('firebase-admin/data-connect');

async function main() {
  const esm = await import('@gallery/art');
  const cjs = require('@gallery/art');
  const dc = firebase.getDataConnect(cjs.connectorConfig, cjs.dataConnectSettings);
  for (const sdk of [cjs, esm]) {
    await sdk.listPaintings();
    await sdk.listPaintings(dc, { limit: 3 }, { fetchPolicy: 'SERVER_ONLY' });
    await sdk.statistics({ fetchPolicy: 'CACHE_ONLY' });
    await sdk.statistics(dc);
    await sdk.addPainting({ title: 'a' });
    await sdk.touch(dc);
    firebase.calls.push([sdk.getPaintingRef.operationName, sdk.Medium.default, sdk.connectorConfig]);
    try {
      await sdk.getPainting();
    } catch (error) {
      firebase.calls.push(['error', error.message]);
    }
  }
  for (const react of [require('@gallery/art/react'), await import('@gallery/art/react')]) {
    react.useListPaintings({ limit: 1 }, { enabled: true });
    react.useGetPainting(dc, { id: '1' });
    react.useStatistics({ enabled: false });
    react.useTouch();
    react.useUpsertVisit();
  }
  for (const angular of [require('@gallery/art/angular'), await import('@gallery/art/angular')]) {
    angular.injectListPaintings(() => ({ limit: 1 }), () => ({ enabled: false }));
    angular.injectStatistics();
    angular.injectTouch();
  }
  for (const sdk of [require('@gallery/art-admin'), await import('@gallery/art-admin')]) {
    sdk.listPaintings();
    sdk.statistics({ impersonate: { unauthenticated: true } });
    sdk.addPainting(admin.getDataConnect(), { title: 'a' });
  }
  for (const call of [...firebase.calls, ...admin.calls]) console.log(JSON.stringify(call));
}
main();
