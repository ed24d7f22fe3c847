#!/bin/sh
# Puts the stubs and the generated packages where Node and tsc find them: prepare.sh STUBS GENERATED FOLDER
set -eu
mkdir -p "$3/node_modules/@angular" "$3/node_modules/@gallery"
cp -r "$1/firebase" "$1/firebase-admin" "$3/node_modules/"
cp -r "$1/tanstack-query-firebase" "$3/node_modules/@tanstack-query-firebase"
cp -r "$1/angular/core" "$1/angular/fire" "$3/node_modules/@angular/"
cp -r "$2/web" "$3/node_modules/@gallery/art"
cp -r "$2/admin" "$3/node_modules/@gallery/art-admin"
cp "$1/usage.ts" "$1/run.js" "$3/"
