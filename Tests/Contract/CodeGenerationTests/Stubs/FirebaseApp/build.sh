#!/bin/sh
# Builds the program `app` in the folder OUTPUT: STUBS/FirebaseApp over the generated SOURCES, each module apart.
# Usage: build.sh STUBS SOURCES OUTPUT
set -e
stubs=$1 sources=$2
cd "$3"
compile() {
    module=$1
    shift
    swiftc -swift-version 5 -parse-as-library -wmo -emit-module -emit-object -I . -module-name "$module" \
        -o "$module.o" "$@"
}
compile FirebaseCore "$stubs"/FirebaseCore/*.swift
compile FirebaseDataConnect "$stubs"/FirebaseDataConnect/*.swift
compile GallerySDK -enable-upcoming-feature MemberImportVisibility "$sources"/*.swift
swiftc -swift-version 5 -I . -o app "$stubs"/FirebaseApp/main.swift ./*.o
