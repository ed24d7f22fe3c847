// Uses the generated types as apps do; compiled with --strict.
import * as sdk from '@gallery/art';
import * as admin from '@gallery/art-admin';
import { getDataConnect, QueryPromise, QueryRef, MutationPromise, subscribe } from 'firebase/data-connect';
import { getDataConnect as getAdmin } from 'firebase-admin/data-connect';
import { useListPaintings, useTouch, useUpsertVisit } from '@gallery/art/react';
import { injectGetPainting, injectListPaintings, injectTouch } from '@gallery/art/angular';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
function check<T extends true>(): T | void {}
type Element<T> = T extends (infer E)[] ? E : never;

const dc = getDataConnect(sdk.connectorConfig, sdk.dataConnectSettings);

// Variables: required, optional, with a default that is not null.
check<Same<sdk.ListPaintingsVariables, { medium?: sdk.Medium | null; limit?: number; order?: sdk.OrderDirection | null }>>();
check<Same<sdk.AddPaintingVariables['artistId'], sdk.UUIDString>>();
check<Same<sdk.CreateArtistVariables['rank'], sdk.Int64String>>();
check<Same<sdk.AddPaintingsVariables, { rows: sdk.AddPaintingsRowsInput[] }>>();

// Results: nullable values and objects, lists, keys, aggregates, Any, Vector.
type Painting = NonNullable<sdk.GetPaintingData['painting']>;
check<Same<Painting['notes'], unknown>>();
check<Same<Painting['embedding'], number[] | null | undefined>>();
check<Same<Painting['owner'], { name: string } | undefined>>();
check<Same<Painting['sizes'], sdk.Int64String[] | null | undefined>>();
const key: sdk.Painting_Key = {} as Painting;
check<Same<Element<sdk.StatisticsData['paintings']>['price_avg'], number | null | undefined>>();
check<Same<Element<sdk.StatisticsData['total']>, { _count: number }>>();
check<Same<sdk.TouchData, { _execute?: number | null }>>();
check<Same<sdk.RawRowsData['_select'], (unknown | null)[] | null | undefined>>();
check<Same<sdk.RemovePaintingData, { painting_delete?: sdk.Painting_Key | null; removedVisits: number }>>();
type Artist = Element<sdk.ConditionalData['artists']>;
check<Same<Artist['rank'], sdk.Int64String | undefined>>();
check<Same<'secret' extends keyof Artist ? true : false, false>>();
check<Same<'never' extends keyof Artist ? true : false, false>>();
check<Same<NonNullable<NonNullable<sdk.WeatherData['station']>['readings']>, ({ at: string; sky?: sdk.Sky | null; degrees: number[] } | null)[]>>();

// Calls with and without an instance, with options.
const list: QueryPromise<sdk.ListPaintingsData, sdk.ListPaintingsVariables> = sdk.listPaintings();
sdk.listPaintings({ limit: 3 }, { fetchPolicy: 'SERVER_ONLY' });
sdk.listPaintings(dc, { medium: sdk.Medium.OIL });
const reference: QueryRef<sdk.StatisticsData, undefined> = sdk.statisticsRef();
sdk.statistics(dc, { fetchPolicy: 'CACHE_ONLY' });
const change: MutationPromise<sdk.TouchData, undefined> = sdk.touch(dc);
sdk.upsertVisit({ painting: '1', stars: null });
sdk.filtered({ where: { _or: [{ title: { contains: 'a' } }, { artist: { name: { eq: 'b' } } }] }, orderBy: [{ title: sdk.OrderDirection.ASC }] });
subscribe(sdk.getPaintingRef({ id: '1' }), ({ data }) => data.painting?.visitors.map((visitor) => visitor.name));
const name: string = sdk.getPaintingRef.operationName;

// @ts-expect-error: the variables are required.
sdk.getPainting();
// @ts-expect-error: no such variable.
sdk.listPaintings({ colour: 'red' });
// @ts-expect-error: a default stands for an absent value, not for null.
sdk.listPaintings({ limit: null });
// @ts-expect-error: no such value.
sdk.listPaintings({ medium: 'STONE' });

// Hooks and injection functions.
useListPaintings({ limit: 1 }, { enabled: true });
useListPaintings(dc);
useTouch().mutate();
useUpsertVisit({ onSuccess: (data) => data.visit_upsert.paintingId }).mutate({ painting: '1' });
injectListPaintings();
injectGetPainting(() => ({ id: '1' }), () => ({ enabled: false }));
injectTouch().mutate(undefined);

// Administrators.
admin.listPaintings(getAdmin(admin.connectorConfig), { limit: 1 }, { impersonate: { unauthenticated: true } });
admin.statistics({}).then((answer) => answer.data.total);
// @ts-expect-error: the variables are required.
admin.getPainting();

void [list, reference, change, key, name];
